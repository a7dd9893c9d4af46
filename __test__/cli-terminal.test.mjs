// On a terminal: colours, the progress bar, signals. `script` of util-linux makes one.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { truncateSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { pack } from '../index.js';
import { cli, command, ended, scratch } from './cli-helpers.mjs';

const { progressLine } = createRequire(import.meta.url)('../src/cli/progress.js');

const files = scratch();

const { stdout: version } = spawnSync('script', ['--version'], { encoding: 'utf8' });
const skip = version?.includes('util-linux') ? false : 'there is no script of util-linux';

const quote = (word) => `'${word.replaceAll(`'`, `'\\''`)}'`;

/** The words of a shell that run msgpack-rs. */
const shell = (...args) => [process.execPath, ...command(args)].map(quote).join(' ');

/** What a terminal would get to see of a line of shell, with the status of its end. */
function onTerminal(line, env = {}) {
  // In CI nobody looks at colours, which Node.js knows.
  const { CI, FORCE_COLOR, NO_COLOR, NODE_DISABLE_COLORS, ...clean } = process.env;
  const result = spawnSync('script', ['-qec', line, '/dev/null'], {
    encoding: 'utf8',
    // Where no terminal says how wide it is.
    env: { ...clean, TERM: 'xterm-256color', ...env },
    input: '',
  });
  // A terminal writes a line feed as two characters.
  return { status: result.status, screen: result.stdout.replaceAll('\r\n', '\n') };
}

/** Words of a shell that wait for a file to have something in it: the command is at work. */
const untilWritten = (file) => `until [ -s ${quote(file)} ]; do sleep 0.05; done`;

const ERASE = '\r\x1b[K';

test('inspect has colours on a terminal', { skip }, () => {
  const file = files.put('a.msgpack', pack({ id: 7 }));
  const line = shell('inspect', file);
  const plain = cli(['inspect', file]).stdout;
  const forced = cli(['inspect', file], { env: { FORCE_COLOR: '1' } }).stdout;
  assert.notEqual(forced, plain);
  assert.deepEqual(onTerminal(line), { status: 0, screen: forced });
  assert.equal(onTerminal(line, { NO_COLOR: '1' }).screen, plain);
  // An empty NO_COLOR says nothing.
  assert.equal(onTerminal(line, { NO_COLOR: '' }).screen, forced);
  assert.equal(onTerminal(line, { TERM: 'dumb' }).screen, plain);
  assert.equal(onTerminal(`${line} | cat`).screen, plain);
});

test('MessagePack is not written to a terminal unless that is asked for', { skip }, () => {
  const file = files.put('a.json', '7');
  assert.deepEqual(onTerminal(shell('from-json', file)), {
    status: 2,
    screen:
      'msgpack-rs from-json: MessagePack is no text for a terminal\n' +
      'Write it to a file or a pipe, or say -o - if you want it here.\n',
  });
  assert.deepEqual(onTerminal(shell('from-json', '-o', '-', file)), { status: 0, screen: '\x07' });
});

test('work that is soon done shows no bar', { skip }, () => {
  const file = files.put('a.msgpack', pack({ id: 7 }));
  const out = files.at('out.json');
  assert.deepEqual(onTerminal(`${shell('to-json', file)} > ${quote(out)}`), {
    status: 0,
    screen: '',
  });
  assert.equal(files.read('out.json', 'utf8'), '{"id":7}\n');
});

test('work that takes longer shows how far it is, and erases that in the end', { skip }, () => {
  const out = files.at('slow.json');
  const slow = `(printf '\\001'; ${untilWritten(out)}; sleep 1.2; printf '\\002\\003')`;
  const { status, screen } = onTerminal(`${slow} | ${shell('to-json')} > ${quote(out)}`);
  assert.equal(status, 0);
  assert.equal(files.read('slow.json', 'utf8'), '1\n2\n3\n');
  // What is on the screen in the end is nothing.
  const [before, line, after, ...rest] = screen.split(ERASE);
  assert.match(line, /^<stdin> {2}0\.0 kB {2}0\.0 kB\/s$/);
  assert.deepEqual([before, after, rest], ['', '', []]);
});

test('the bar is no part of a message, nor of what is written to the same terminal', {
  skip,
}, () => {
  const out = files.at('bad.json');
  const wait = `${untilWritten(out)}; sleep 1.2`;
  const slow = `(printf '\\001'; ${wait}; printf '\\002'; sleep 0.2; printf '\\301')`;
  const { status, screen } = onTerminal(`${slow} | ${shell('to-json')} > ${quote(out)}`);
  assert.equal(status, 1);
  assert.ok(screen.includes('kB/s'), screen);
  assert.ok(screen.endsWith(`${ERASE}<stdin>:2: The byte 0xc1 starts no value\n`), screen);
  const same = `(printf '\\001'; sleep 2; printf '\\002')`;
  assert.equal(onTerminal(`${same} | ${shell('to-json')}`).screen, '1\n2\n');
});

test('an interrupt erases the bar and ends the process by the signal', { skip }, async () => {
  // Zeros that take long: a line for each of them.
  const file = files.put('zeros', '');
  truncateSync(file, 2e9);
  const line = `exec ${shell('inspect', file)} > /dev/null`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  const bar = /….*zeros {2}\[[#.]{24}\] +\d+ % {2}\d+\.\d MB {2}\d+\.\d MB\/s/;
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk) => {
    const isFirst = !bar.test(screen);
    screen += chunk;
    // The terminal makes a signal of it.
    if (isFirst && bar.test(screen)) child.stdin.write('\x03');
  });
  const { status } = await ended(child);
  assert.match(screen, bar);
  assert.ok(screen.replace('^C', '').endsWith(ERASE), JSON.stringify(screen));
  assert.equal(status, 128 + 2);
});

test('what the bar says', () => {
  assert.equal(
    progressLine('data.msgpack', 250_000_000, 1_000_000_000, 2000),
    'data.msgpack  [######..................]  25 %  250.0 MB  125.0 MB/s  0:06 left',
  );
  assert.equal(
    progressLine('a', 1_999_999_999, 2_000_000_000, 60_000),
    'a  [########################]  99 %  2.00 GB  33.3 MB/s  0:01 left',
  );
  // A file that grew.
  assert.equal(
    progressLine('a', 2000, 1000, 1000),
    'a  [########################] 100 %  2.0 kB  2.0 kB/s  0:00 left',
  );
  assert.equal(progressLine('<stdin>', 12_345_678, undefined, 1000), '<stdin>  12.3 MB  12.3 MB/s');
  assert.equal(
    progressLine(`/a/${'long/'.repeat(9)}name`, 0, undefined, 1),
    '…ong/long/long/long/name  0.0 kB  0.0 kB/s',
  );
  assert.match(progressLine('a', 1e6, 3.6e9, 1000), / 59:59 left$/);
});
