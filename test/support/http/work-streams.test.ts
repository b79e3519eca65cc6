import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Work } from '../../../src/support/http/work-streams.ts';
import { WorkStreams } from '../../../src/support/http/work-streams.ts';
import { deferred } from './http-server.ts';

type Told = { readonly told: number };

/** Works with a log, a client that can go away, and a service that can shut down. */
function openWorks(keepAliveMs?: number) {
  const logged: string[] = [];
  const logger = { warn: () => {}, error: (_line: object, message: string) => void logged.push(message) };
  const closing = new AbortController();
  const gone = new AbortController();
  const works = new WorkStreams({ logger, closing: closing.signal, keepAliveMs });
  const begin = (work: Work<Told>) => works.stream<Told>({ requestId: 'r', signal: gone.signal }, work);
  const read = async (work: Work<Told>) => {
    const { stream } = await begin(work);
    const ended = deferred<void>();
    let text = '';
    stream?.readTo({
      write: (piece) => {
        text += piece;
        return true;
      },
      end: () => ended.resolve(),
      cut: () => ended.resolve(),
    });
    await ended.promise;
    return text;
  };
  return { works, logged, closing, gone, begin, read };
}

const refusal = new ApiError('invalid_parameter', 'It is wrong.', { param: 'it' });

describe('a stream of work', () => {
  it('does not begin where the work fails before its first event: the error keeps its status', async () => {
    const { begin } = openWorks();
    await expect(begin(async () => Promise.reject(refusal))).rejects.toBe(refusal);
  });

  it('ends with the error of work that fails after an event, or after a comment', async () => {
    const afterEvent = await openWorks().read(async (send) => {
      await send({ told: 1 });
      throw refusal;
    });
    const error = '{"message":"It is wrong.","type":"invalid_request_error","param":"it","code":"invalid_parameter"}';
    expect(afterEvent).toBe(`data: {"told":1}\n\ndata: {"type":"error","error":${error}}\n\n`);
    const failing = deferred<void>();
    const { begin } = openWorks(1);
    const { stream } = await begin(() => failing.promise.then(() => Promise.reject(refusal)));
    failing.resolve();
    const ended = deferred<string>();
    let text = '';
    const write = (piece: string) => {
      text += piece;
      return true;
    };
    stream?.readTo({ write, end: () => ended.resolve(text), cut: () => {} });
    expect((await ended.promise).replaceAll(': \n\n', '')).toBe(`data: {"type":"error","error":${error}}\n\n`);
  });

  it('says that the service shuts down, and logs nothing for it or for a client that went away', async () => {
    const closed = openWorks();
    const text = await closed.read(async (send, signal) => {
      await send({ told: 1 });
      closed.closing.abort(new Error('closing'));
      signal.throwIfAborted();
    });
    expect(text).toContain('"code":"shutting_down"');
    const left = openWorks();
    const rest = await left.read(async (send, signal) => {
      await send({ told: 1 });
      left.gone.abort(new Error('gone'));
      signal.throwIfAborted();
    });
    expect([rest, closed.logged, left.logged]).toEqual(['data: {"told":1}\n\n', [], []]);
  });

  it('is waited for: all work has ended once ended() resolves', async () => {
    const { works, begin } = openWorks();
    const finish = deferred<void>();
    let hasEnded = false;
    await begin(async (send) => {
      await send({ told: 1 });
      await finish.promise;
      hasEnded = true;
    });
    const ended = works.ended().then(() => hasEnded);
    finish.resolve();
    expect(await ended).toBe(true);
  });
});
