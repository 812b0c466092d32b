// Installs the locked dependencies when they are missing or older than the lock file, so that one command works
// on a fresh clone. It imports nothing outside Node itself.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stampFile = join(root, 'node_modules', '.countersign-lock-digest');
const lockDigest = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `Countersign needs Node.js 20.19 or newer; this is ${process.versions.node}. Install a newer Node.js and try again.`,
  );
  process.exit(1);
}

const installed = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : '';
if (installed !== lockDigest) {
  console.error('Installing the locked dependencies (npm ci) …');
  const result = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (result.status !== 0) {
    console.error('npm ci failed: see its messages above, mend them, and run the same command again.');
    process.exit(result.status ?? 1);
  }
  writeFileSync(stampFile, lockDigest);
}
