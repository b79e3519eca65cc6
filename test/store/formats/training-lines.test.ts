import { expect, it } from 'vitest';
import { type Trace, traceSchema } from '../../../src/contract/service/trace.ts';
import { toExportReply } from '../../../src/service/traces/export-reply.ts';
import { openAiFormat } from '../../../src/store/formats/lines/openai.ts';
import { trlFormat } from '../../../src/store/formats/lines/trl.ts';
import { Losses } from '../../../src/store/formats/losses.ts';
import { randomTrace } from './random-trace.ts';
import { writeContext } from './round-trip.ts';

const TRACES = Array.from({ length: 200 }, (_, index) => randomTrace(index + 1));
const isBeside = (step: Trace['steps'][number]) => typeof step.branch === 'string';

/** What stands beside the main conversation says so. */
function withSigns(trace: Trace): Trace {
  const steps = trace.steps.map((step) =>
    isBeside(step) ? { ...step, message: { ...step.message, content: 'BESIDE' } } : step,
  );
  return { ...trace, steps };
}

it.each([openAiFormat(), trlFormat()])('a line of $name is the main conversation alone, and says so', (format) => {
  const lines = TRACES.filter(({ steps }) => steps.some(isBeside)).flatMap((trace) => {
    const losses = new Losses();
    const line = format.toLine(withSigns(trace), { ...writeContext(), losses });
    if (line === undefined) return [];
    const branches = losses.toList().find(({ field }) => field === 'steps[].branch');
    expect(branches?.count).toBe(trace.steps.filter(isBeside).length);
    return [JSON.stringify(line)];
  });
  expect(lines.length).toBeGreaterThan(3);
  expect(lines.filter((line) => line.includes('BESIDE'))).toEqual([]);
});

it('a line lists every field of a trace that it does not hold', () => {
  const losses = new Losses();
  for (const trace of TRACES) openAiFormat().toLine(trace, { ...writeContext(), losses });
  const lost = losses.toList().map(({ field }) => field);
  const held = ['object', 'version', 'system', 'prompt', 'tools', 'turns', 'steps'];
  // Known by the trace's id, or of the store that it is in; the grades of these traces are empty.
  const ofStore = ['trace_url', 'rerun', 'superseded', 'attempt', 'grades', 'logs'];
  const missing = Object.keys(traceSchema.shape).filter((field) => ![...held, ...ofStore, ...lost].includes(field));
  expect(missing).toEqual([]);
});

it('a run that did not complete has no line, by the route too', async () => {
  const failed = TRACES.find(({ status, steps }) => status === 'failed' && steps.length > 0);
  if (failed === undefined) throw new Error('No generated trace has failed');
  const asked = toExportReply({} as never, failed, { format: 'openai', account: 'local' }); // Nothing is read.
  await expect(asked).rejects.toMatchObject({ code: 'invalid_parameter', param: 'format' });
});
