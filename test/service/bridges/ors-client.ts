import { send } from '../../support/http/http-server.ts';

export interface CallEvents {
  readonly events: readonly { readonly event: string; readonly data: string }[];
  /** The data of the pieces, joined and read; undefined where they were none. */
  readonly result: unknown;
}

/** As the client of the standard sends it: its key as X-API-Key, its session in a header. */
export function createOrsClient(url: string, apiKey?: string) {
  const headers = (sid?: string) => ({
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
    ...(sid === undefined ? {} : { 'x-session-id': sid }),
  });
  const get = (path: string, sid?: string) => send(url, path, { headers: headers(sid) });
  const post = (path: string, body: object = {}, sid?: string) =>
    send(url, path, { method: 'POST', headers: headers(sid), body: JSON.stringify(body) });
  const newId = async () => {
    const events = readEvents((await post('/create_session')).text);
    const [first, last] = events;
    if (first?.event !== 'task_id' || last?.event !== 'end') throw new Error(`No session: ${JSON.stringify(events)}`);
    return first.data;
  };
  return {
    get,
    post,
    newId,
    async create(body: object) {
      const sid = await newId();
      const reply = await post('/create', body, sid);
      if (reply.status !== 200) throw new Error(`Not created: ${reply.status} ${reply.text}`);
      return sid;
    },
    async call(sid: string, name: string, input: object = {}, env = 'count_to'): Promise<CallEvents> {
      const reply = await post(`/${env}/call`, { name, input }, sid);
      if (reply.status !== 200) throw new Error(`Not called: ${reply.status} ${reply.text}`);
      return readCall(reply.text);
    },
  };
}

/** Drops white space at the start of data, as the client of the standard does. */
function readEvents(text: string): CallEvents['events'] {
  return text.split('\n\n').flatMap((block) => {
    const fields = block.split('\n').filter((line) => line !== '' && !line.startsWith(':'));
    const read = (name: string) =>
      fields
        .find((line) => line.startsWith(`${name}:`))
        ?.slice(name.length + 1)
        .trimStart();
    const event = read('event');
    return event === undefined ? [] : [{ event, data: read('data') ?? '' }];
  });
}

export function readCall(text: string): CallEvents {
  const events = readEvents(text);
  const pieces = events.filter(({ event }) => event === 'chunk' || event === 'end');
  return { events, result: pieces.length === 0 ? undefined : JSON.parse(pieces.map(({ data }) => data).join('')) };
}
