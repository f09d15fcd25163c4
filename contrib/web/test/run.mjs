// node web/test/run.mjs short|full, with $BUILD and $WEB_TESTS set by contrib/web/run.
import { join } from 'node:path';
import { finish } from './tap.mjs';
import { libraryTests, packageTests } from './library.mjs';
import { pageTests } from './page.mjs';
import { sameBitsTests } from './same_bits.mjs';

const web = join(process.env.BUILD, 'web');
const capball = await import(join(web, 'npm/index.js'));
await sameBitsTests(capball);
await libraryTests(capball);
await packageTests(join(web, 'npm'));
await pageTests(web, capball, process.argv[2] === 'full');
finish();
