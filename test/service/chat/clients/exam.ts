import { calls, delta, frames, type Play, rawStream, says, stream } from '../../../gateway.ts';

/** What the turns of these tests say, in pieces that a client has to put together: lines, code points of two units, quotes. */
const PIECES = ['It shows\u2028', ' 2 👩‍🚀', ' — "zwei"\n', '\tand that is all.'] as const;
const REMARK = 'I shall count.';

/** Text of the first turn of `EXAM`: all text of its responses, joined by a blank line. */
export const FIRST_TEXT = `${REMARK}\n\n${PIECES.join('')}`;
/** Of its last response alone. */
export const FIRST_ANSWER = PIECES.join('');
export const SECOND_TEXT = 'It shows 3.';

/** Two turns: a remark with a tool call, its result and a text; then another call and a text. Together they count to 3. */
export const EXAM: readonly Play[] = [
  stream(
    delta({ role: 'assistant', content: '' }),
    delta({ content: REMARK }),
    delta({
      tool_calls: [
        { index: 0, id: 'call_1', type: 'function', function: { name: 'increment', arguments: '{"by":2}' } },
      ],
    }),
    delta({}, 'tool_calls'),
  ),
  says(...PIECES),
  calls(['increment', { by: 1 }]),
  says(SECOND_TEXT),
];

/** A gateway that begins to answer and closes the connection before it has finished. */
export const CUT_SHORT: Play = rawStream(frames(delta({ role: 'assistant', content: 'It sho' })));

/** A gateway that begins to answer and then says nothing more. */
export const FALLS_SILENT: Play = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(frames(delta({ role: 'assistant', content: 'It sho' })));
};

export const GO = 'Go.';
export const ONE_MORE = 'One more.';

export async function collect<T>(stream: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

export async function thrownBy(work: PromiseLike<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown');
}
