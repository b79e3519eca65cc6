/** One answer of a server, as it stood on the wire. */
export interface HttpAnswer {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Of a stream that has not ended: what has come so far. */
  readonly body: string;
  readonly isWhole: boolean;
}

/**
 * Reads what a connection brings as a sequence of answers, and takes nothing that HTTP/1.1 does not allow: this reader has
 * to be stricter than any client, since it judges the server.
 */
export class AnswerReader {
  readonly answers: HttpAnswer[] = [];
  #rest = '';
  readonly #isHead: boolean;

  /** `isHead` where every request is a HEAD, which is answered without a body. */
  constructor(isHead = false) {
    this.#isHead = isHead;
  }

  /** `latin1` text: one character for each byte. @throws Error for what is no answer. */
  take(text: string): void {
    this.#rest += text;
    for (;;) {
      const parsed = parse(this.#rest, this.#isHead);
      if (parsed === undefined || !parsed.answer.isWhole) return;
      this.#rest = this.#rest.slice(parsed.length);
      // 100 says only that the answer is still to come.
      if (parsed.answer.status !== 100) this.answers.push(parsed.answer);
    }
  }

  /** The answer that has begun and not ended, where there is one. */
  get open(): HttpAnswer | undefined {
    return parse(this.#rest, this.#isHead)?.answer;
  }

  /** The server has ended the connection, and with it an answer that lasts as long. */
  end(): void {
    const { open } = this;
    if (open?.headers.get('connection') !== 'close' || hasLength(open.headers)) return;
    this.answers.push(open);
    this.#rest = '';
  }

  /** What has come that is not a whole answer. */
  get rest(): string {
    return this.#rest;
  }
}

function parse(text: string, isHead: boolean): { readonly answer: HttpAnswer; readonly length: number } | undefined {
  if (text !== '' && !'HTTP/1.1 '.startsWith(text.slice(0, 9))) throw new Error(`Not HTTP: ${preview(text)}`);
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [ -~]*$/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`Not a status line: ${preview(statusLine)}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([ -~\x80-\xff\t]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`Not a header: ${preview(line)}`);
    if (headers.has(name.toLowerCase())) throw new Error(`A header twice: ${preview(line)}`);
    headers.set(name.toLowerCase(), value);
  }
  const isEmpty = isHead || status < 200 || status === 204 || status === 304;
  if (isEmpty && !isHead && headers.has('transfer-encoding')) throw new Error(`A body with ${status}`);
  const from = end + 4;
  const framed = isEmpty ? { body: '', end: from, isWhole: true } : bodyOf(text, from, headers);
  const body = Buffer.from(framed.body, 'latin1').toString();
  return { answer: { status, headers, body, isWhole: framed.isWhole }, length: framed.end };
}

interface Framed {
  readonly body: string;
  readonly end: number;
  readonly isWhole: boolean;
}

function bodyOf(text: string, from: number, headers: ReadonlyMap<string, string>): Framed {
  const length = headers.get('content-length');
  const encoding = headers.get('transfer-encoding');
  if (length !== undefined && encoding !== undefined) throw new Error('Both a length and a transfer encoding');
  if (encoding === 'chunked') return chunked(text, from);
  if (encoding !== undefined) throw new Error(`An unknown transfer encoding: ${encoding}`);
  if (length === undefined && headers.get('connection') === 'close') {
    return { body: text.slice(from), end: text.length, isWhole: false };
  }
  if (length === undefined || !/^\d+$/.test(length)) throw new Error(`No length: ${length}`);
  const end = from + Number(length);
  return { body: text.slice(from, end), end, isWhole: text.length >= end };
}

function hasLength(headers: ReadonlyMap<string, string>): boolean {
  return headers.has('content-length') || headers.has('transfer-encoding');
}

function chunked(text: string, from: number): Framed {
  let body = '';
  for (let at = from; ; ) {
    const line = text.indexOf('\r\n', at);
    if (line < 0) return { body, end: at, isWhole: false };
    const size = text.slice(at, line);
    if (!/^[0-9a-fA-F]{1,8}$/.test(size)) throw new Error(`Not the size of a chunk: ${preview(size)}`);
    const end = line + 2 + Number.parseInt(size, 16);
    if (text.length < end + 2) return { body, end: at, isWhole: false };
    if (text.slice(end, end + 2) !== '\r\n') throw new Error('A chunk does not end where it says');
    if (/^0+$/.test(size)) return { body, end: end + 2, isWhole: true };
    body += text.slice(line + 2, end);
    at = end + 2;
  }
}

const preview = (text: string) => JSON.stringify(text.slice(0, 120));
