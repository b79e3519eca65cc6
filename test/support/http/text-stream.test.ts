import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { TextStream } from '../../../src/support/http/text-stream.ts';
import { deferred, send, serveRoutes } from './http-server.ts';

/** A reader that takes as many pieces as it is told, and then waits for `drained`. */
function createSink(room: number) {
  const pieces: string[] = [];
  let isEnded = false;
  let isCut = false;
  return {
    pieces,
    isEnded: () => isEnded,
    isCut: () => isCut,
    sink: {
      write(text: string) {
        pieces.push(text);
        return pieces.length < room;
      },
      end() {
        isEnded = true;
      },
      cut() {
        isCut = true;
      },
    },
  };
}

const route = (stream: TextStream) =>
  ({ method: 'GET', path: '/stream', summary: 'Streams', access: 'public', handle: () => ({ stream }) }) as const;

describe('text that is streamed', () => {
  it('goes to its reader in the same tick', () => {
    const stream = new TextStream();
    const { sink, pieces } = createSink(10);
    stream.readTo(sink);
    stream.push('a');
    expect(pieces).toEqual(['a']);
  });

  it('waits for a reader, and goes in one piece then', () => {
    const stream = new TextStream();
    const { sink, pieces, isEnded } = createSink(10);
    stream.push('a');
    stream.push('b');
    stream.end();
    stream.readTo(sink);
    expect(pieces).toEqual(['ab']);
    expect(isEnded()).toBe(true);
  });

  it('waits while the reader has no room, and comes whole and in order', () => {
    const stream = new TextStream();
    const { sink, pieces, isEnded } = createSink(1);
    stream.readTo(sink);
    for (const text of ['a', 'b', 'c']) stream.push(text);
    stream.end();
    expect(pieces).toEqual(['a']);
    expect(isEnded()).toBe(false);
    stream.drained();
    expect(pieces).toEqual(['a', 'bc']);
    expect(isEnded()).toBe(true);
  });

  it('takes nothing after its end', () => {
    const stream = new TextStream();
    const { sink, pieces } = createSink(10);
    stream.end();
    stream.push('late');
    stream.readTo(sink);
    expect(pieces).toEqual([]);
  });

  it('counts as overfull where much waits for a reader who takes nothing for ten seconds, and not before', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const stream = new TextStream();
    const { sink } = createSink(1);
    stream.readTo(sink);
    stream.push('x');
    stream.push('x'.repeat(9 * 1024 * 1024));
    expect(stream.isOverfull).toBe(false);
    vi.advanceTimersByTime(10_001);
    expect(stream.isOverfull).toBe(true);
    stream.drained();
    expect(stream.isOverfull).toBe(false);
  });

  it('counts as overfull at once where more waits than anybody reads', () => {
    const stream = new TextStream();
    stream.push('x'.repeat(129 * 1024 * 1024));
    expect(stream.isOverfull).toBe(true);
  });
});

describe('a stream that is cut', () => {
  it('drops what waits, takes nothing more and tells its reader', () => {
    const stream = new TextStream();
    const { sink, pieces, isCut, isEnded } = createSink(1);
    stream.readTo(sink);
    for (const text of ['a', 'b']) stream.push(text);
    stream.cut();
    stream.push('c');
    stream.end();
    stream.drained();
    expect({ pieces, isCut: isCut(), isEnded: isEnded() }).toEqual({ pieces: ['a'], isCut: true, isEnded: false });
  });

  it('tells a reader that comes later', () => {
    const stream = new TextStream();
    const { sink, pieces, isCut } = createSink(10);
    stream.push('a');
    stream.cut();
    stream.readTo(sink);
    expect({ pieces, isCut: isCut() }).toEqual({ pieces: [], isCut: true });
  });

  it('closes the connection, and the log says client_too_slow with the request id', async () => {
    const stream = new TextStream();
    const { url, log } = await serveRoutes([route(stream)]);
    const response = await fetch(`${url}/stream`);
    const reading = response.text();
    stream.cut();
    await expect(reading).rejects.toThrow('terminated');
    const requestId = response.headers.get('x-request-id');
    await vi.waitUntil(() => log().some(({ msg }) => msg === 'request'));
    expect(log()).toContainEqual(expect.objectContaining({ level: 40, code: 'client_too_slow', requestId }));
  });
});

describe('a reply that is a stream', () => {
  it('has its headers at once and its text as it comes', async () => {
    const stream = new TextStream();
    const { url } = await serveRoutes([route(stream)]);
    const response = await fetch(`${url}/stream`);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    stream.push('one');
    expect(await reader?.read()).toEqual({ done: false, value: 'one' });
    stream.push('two');
    expect(await reader?.read()).toEqual({ done: false, value: 'two' });
    stream.end();
    expect((await reader?.read())?.done).toBe(true);
  });

  it('of many megabytes comes whole, however slow its reader is', async () => {
    const stream = new TextStream();
    const { url } = await serveRoutes([route(stream)]);
    const reply = send(url, '/stream');
    for (let piece = 0; piece < 64; piece += 1) stream.push(String(piece % 10).repeat(64 * 1024));
    stream.end();
    const { text } = await reply;
    expect(text).toHaveLength(64 * 64 * 1024);
    expect(text.startsWith('0') && text.endsWith('3')).toBe(true);
  });

  it('ends for its author when the client goes away', async () => {
    const stream = new TextStream();
    const gone = deferred<unknown>();
    const { url } = await serveRoutes([
      {
        ...route(stream),
        handle: ({ signal }) => {
          signal.addEventListener('abort', () => gone.resolve(signal.reason));
          return { stream };
        },
      },
    ]);
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET /stream HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`);
    socket.once('data', () => socket.destroy());
    expect(await gone.promise).toMatchObject({ message: 'The client went away' });
    stream.push('for nobody');
  });
});
