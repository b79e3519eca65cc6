// As much of LangChain as our tests use: its own types are there only where the referees are installed.

declare class Message {
  constructor(content: string);
  readonly content: unknown;
  readonly additional_kwargs: Readonly<Record<string, unknown>>;
  readonly response_metadata: Readonly<Record<string, unknown>>;
  readonly usage_metadata?: { readonly input_tokens: number; readonly output_tokens: number };
}
export class AIMessage extends Message {}
export class HumanMessage extends Message {}

export interface CallOptions {
  readonly options?: { readonly headers?: Readonly<Record<string, string>> };
  readonly signal?: AbortSignal;
}

export class ChatOpenAI {
  constructor(fields: {
    readonly model: string;
    readonly apiKey: string;
    readonly maxRetries?: number;
    readonly modelKwargs?: object;
    readonly configuration: { readonly baseURL: string; readonly defaultHeaders?: Readonly<Record<string, string>> };
    readonly __includeRawResponse?: boolean;
  });
  invoke(input: string | readonly Message[], options?: CallOptions): Promise<Message>;
  stream(input: string | readonly Message[], options?: CallOptions): Promise<AsyncIterable<Message>>;
}
