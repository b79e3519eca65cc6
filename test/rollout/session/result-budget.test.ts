import { describe, expect, it } from 'vitest';
import type { ToolResult } from '../../../src/environment/client/environment-client.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import { ResultBudget } from '../../../src/rollout/session/result-budget.ts';
import { call, calls, counterClient, listRecorder, runOptions, says, scripted, textResult } from './fixtures.ts';

const MIB = 1024 * 1024;
const sizeOf = (result: ToolResult) => Buffer.byteLength(JSON.stringify([result.content, result.structured_content]));
const textOf = ({ content }: ToolResult) => content.map((block) => ('text' in block ? block.text : '')).join('\n');

describe('what a tool may answer', () => {
  it('is left as it is while it fits', () => {
    const budget = new ResultBudget({ resultBytes: 1_000, traceBytes: 10_000 });
    const result = { content: textResult('short').content, structured_content: { a: 1 }, is_error: true };
    expect(budget.fit(result)).toBe(result);
  });

  it.each([
    ['plain', 'x'],
    ['of several bytes a character', '\u{1f600}'],
    ['that JSON escapes', '\u0001'],
  ])('a long text %s is cut, in whole characters, and says so', (_kind, character) => {
    const budget = new ResultBudget({ resultBytes: 100_000, traceBytes: 1_000_000 });
    const fitted = budget.fit(textResult(character.repeat(200_000)));
    expect(sizeOf(fitted)).toBeLessThan(100_200);
    expect(sizeOf(fitted)).toBeGreaterThan(90_000);
    const [kept, note] = textOf(fitted).split('\n');
    expect(kept?.replaceAll(character, '')).toBe('');
    expect(note).toMatch(/^\[Cut here: the text has [\d.]+ [KM]iB, and a tool result may have 98 KiB here\]$/);
  });

  it('an image and structured content that do not fit are left out, and what stands in their place says so', () => {
    const budget = new ResultBudget({ resultBytes: 2 * MIB, traceBytes: 64 * MIB });
    const fitted = budget.fit({
      content: [
        { type: 'text', text: 'Before.' },
        { type: 'image', data: 'A'.repeat(3 * MIB), mimeType: 'image/png' },
        { type: 'text', text: 'After.' },
      ],
      structured_content: { rows: 'y'.repeat(4 * MIB) },
      is_error: false,
    });
    expect(fitted).toEqual({
      content: [
        { type: 'text', text: 'Before.' },
        {
          type: 'text',
          text: '[A content block of type image of 3 MiB is left out: a tool result may have 2 MiB here]',
        },
        { type: 'text', text: 'After.' },
        { type: 'text', text: '[The structured content of 4 MiB is left out: a tool result may have 2 MiB here]' },
      ],
      structured_content: null,
      is_error: false,
    });
  });

  it('is less once the results of the run have used up its share', () => {
    const budget = new ResultBudget({ resultBytes: 1 * MIB, traceBytes: 2 * MIB });
    const sizes = Array.from({ length: 4 }, () => sizeOf(budget.fit(textResult('z'.repeat(MIB - 100)))));
    expect(sizes.map((size) => Math.round(size / 65_536))).toEqual([16, 16, 1, 1]);
  });

  it('is the same for the model and for the trace: 50 MB do not make a trace of 50 MB', async () => {
    const client = counterClient({ onCall: () => textResult('0123456789'.repeat(5_000_000)) });
    const model = scripted(calls(call('read')), says('Done.'));
    const recorder = listRecorder();
    const outcome = await executeRun(runOptions(client, model, recorder));
    expect(outcome.status).toBe('completed');
    const [responded] = recorder.of('tool.responded');
    const told = model.requests[1]?.messages.find(({ role }) => role === 'tool');
    expect(responded?.content).toEqual(told?.content);
    expect(JSON.stringify(responded?.content).length).toBeLessThan(8 * MIB + 200);
    expect(JSON.stringify(responded?.content)).toContain(
      'Cut here: the text has 47.7 MiB, and a tool result may have 8 MiB',
    );
  });
});
