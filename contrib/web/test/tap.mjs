// Test cases in TAP.
let count = 0, failed = 0;

export async function test(name, body) {
  count++;
  try {
    await body();
    console.log(`ok ${count} - ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${count} - ${name}`);
    console.log(String(error.stack ?? error).replace(/^/gm, '# '));
  }
}

export function skip(name, why) {
  console.log(`ok ${++count} - ${name} # SKIP ${why}`);
}

export function finish() {
  console.log(`1..${count}`);
  process.exitCode = failed === 0 ? 0 : 1;
}
