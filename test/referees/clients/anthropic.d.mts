// As much of Anthropic's client as our tests use: its own types are there only where the referees are installed.

export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
}

export interface Message {
  readonly id: string;
  readonly role: string;
  readonly model: string;
  readonly content: Block[];
  readonly stop_reason: string | null;
  readonly usage: Readonly<Record<string, unknown>>;
}

export interface Params {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly object[];
  readonly system?: unknown;
  readonly tools?: readonly object[];
  readonly tool_choice?: object;
  readonly thinking?: object;
}

export interface MessageStream {
  on(event: 'text', listener: (text: string) => void): MessageStream;
  finalMessage(): Promise<Message>;
}

export class Anthropic {
  constructor(options: { readonly baseURL: string; readonly apiKey: string; readonly maxRetries?: number });
  readonly messages: {
    create(params: Params): Promise<Message>;
    stream(params: Params): MessageStream;
    countTokens(params: Omit<Params, 'max_tokens'>): Promise<{ readonly input_tokens: number }>;
  };
  readonly models: { list(): Promise<{ readonly data: readonly { readonly id: string }[] }> };
}
