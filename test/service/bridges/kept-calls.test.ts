import { afterEach, describe, expect, it, vi } from 'vitest';
import { ResponseCache } from '../../../src/service/bridges/ors/kept-calls.ts';

afterEach(() => void vi.useRealTimers());

describe('the result of an ORS call', () => {
  it('is kept for a minute after its end, for its own episode alone', async () => {
    vi.useFakeTimers();
    const calls = new ResponseCache();
    let end: (events: string) => void = () => {};
    const call = calls.add(
      'a',
      new Promise((resolve) => {
        end = resolve;
      }),
    );
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(calls.find('a', call.id)).toBe(call);
    expect(calls.find('b', call.id)).toBeUndefined();
    end('done');
    await vi.advanceTimersByTimeAsync(59_999);
    expect(calls.find('a', call.id)).toBe(call);
    await vi.advanceTimersByTimeAsync(1);
    expect(calls.find('a', call.id)).toBeUndefined();
  });

  it('gives way to newer ones where all of them are too large, but never while its call goes on', async () => {
    vi.useFakeTimers();
    const calls = new ResponseCache(10);
    const running = calls.add('a', new Promise(() => {}));
    const [first, second, third] = ['1234', '12345', '123'].map((text) => calls.add('a', Promise.resolve(text)));
    await vi.advanceTimersByTimeAsync(0);
    expect(calls.find('a', first?.id ?? '')).toBeUndefined();
    for (const each of [running, second, third]) expect(calls.find('a', each?.id ?? '')).toBe(each);
    await vi.advanceTimersByTimeAsync(60_000);
    const late = calls.add('a', Promise.resolve('1234567890'));
    await vi.advanceTimersByTimeAsync(0);
    expect(calls.find('a', late.id)).toBe(late);
  });
});
