// A reporter for `node --test` that tells scripts/test.mjs what really ran: one JSON line a test.

export default async function* testReporter(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    yield `${JSON.stringify({
      file: data.file,
      name: data.name,
      suite: data.details?.type === 'suite',
      skipped: data.skip !== undefined || data.todo !== undefined,
    })}\n`;
  }
}
