// The peers are dependencies of the benchmark alone, so it installs them itself when it is run.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

export function installIfMissing() {
  const { dependencies } = JSON.parse(readFileSync(`${here}package.json`, 'utf8'));
  const missing = Object.keys(dependencies).some(
    (name) => !existsSync(`${here}node_modules/${name}`),
  );
  if (!missing) return;
  console.log('Installing what to compare with (npm ci --prefix bench) ...');
  // msgpackr's native helper comes as a built package; nothing here needs an install script.
  const args = ['ci', '--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund'];
  // On Windows npm is a batch file, which only a shell can start.
  execFileSync('npm', args, { stdio: 'inherit', shell: process.platform === 'win32' });
}
