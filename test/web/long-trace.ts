import type { EventBody } from '../../src/contract/service/event.ts';
import { begun, ending, setUp, turnStarted } from './traces.ts';

/** Characters of each step in all: 2,000 steps are about 20 MB. */
const TEXT_LENGTH = 1_100;
const RESULT_LENGTH = 7_600;

/** A run of so many steps, each with reasoning, text, and two calls; every 37th has an error. */
export function longTrace(steps: number): readonly EventBody[] {
  const bodies = Array.from({ length: steps }, (_, index) => toStep(index + 1));
  return [...begun, setUp, turnStarted, ...bodies.flat(), ...ending.slice(2)];
}

function toStep(step: number): readonly EventBody[] {
  const place = { turn: 1, step };
  const calls = ['read_file', 'run_command'].map((name, index) => ({
    id: `call_${step}_${index}`,
    name,
    arguments:
      name === 'read_file'
        ? { path: `src/module_${step}.ts`, from: 1, to: 120 }
        : { command: `npm test -- module_${step} --reporter=verbose` },
  }));
  return [
    { type: 'model.requested', ...place },
    {
      type: 'model.responded',
      ...place,
      message: {
        role: 'assistant',
        content: words(step, TEXT_LENGTH / 2),
        reasoning: words(step + 7, TEXT_LENGTH),
        tool_calls: calls.map((call) => ({ ...call, raw_arguments: null })),
      },
      finish_reason: 'tool_calls',
      usage: {
        prompt_tokens: 9_000,
        completion_tokens: 300,
        total_tokens: 9_300,
        cached_tokens: 8_000,
        reasoning_tokens: 100,
        cost_usd: 0.001,
      },
      token_ids: null,
      logprobs: null,
      retries: 0,
      duration_ms: 900 + (step % 13) * 40,
    },
    ...calls.flatMap(({ id, ...call }, index): readonly EventBody[] => [
      { type: 'tool.called', ...place, tool_call_id: id, ...call, raw_arguments: null },
      {
        type: 'tool.responded',
        ...place,
        tool_call_id: id,
        name: call.name,
        content: [{ type: 'text', text: index === 0 ? code(step) : report(step) }],
        structured_content: null,
        is_error: index === 1 && step % 37 === 0,
        duration_ms: 20 + (step % 7) * 30,
      },
    ]),
  ];
}

const WORDS =
  'the test of this module fails since its order is not what the caller expects so I look at where it is sorted and read the next file'.split(
    ' ',
  );

function words(seed: number, length: number): string {
  let text = '';
  for (let index = seed; text.length < length; index++) text += `${WORDS[(index * 7) % WORDS.length]} `;
  return `${text.trim()}.`;
}

function code(step: number): string {
  let text = '';
  for (let line = 1; text.length < RESULT_LENGTH / 2; line++) {
    text += `export const value_${step}_${line} = compute(${line}, 'needle-${step}'); // ${WORDS[line % WORDS.length]}\n`;
  }
  return text;
}

function report(step: number): string {
  const tests = Array.from({ length: 36 }, (_, index) => ({
    name: `module_${step} does ${index}`,
    ok: index % 9 !== 0,
    ms: index * 3,
  }));
  return JSON.stringify({ step, passed: 32, failed: 4, tests });
}
