import { createParser } from 'eventsource-parser';

/**
 * The data of server-sent events as they come; an event that is cut off is dropped. `onBytes` is told of everything that
 * arrives, comments among it.
 *
 * @throws what breaks the body off.
 */
export async function* readEventData(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<string, void> {
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(data) });
  const decoder = new TextDecoder();
  // Not every browser iterates over a body.
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes();
    parser.feed(decoder.decode(value, { stream: true }));
    yield* events.splice(0);
  }
}
