import type * as capball from './index.js';

/** The library over its own instance of a compiled capball.wasm; `env` sets variables such as CPB_ISA. */
export function createCapball(module: WebAssembly.Module, options?: { env?: Record<string, string> }): Promise<Omit<typeof capball, 'default'>>;
export { CapballError } from './index.js';
