// As much of the AI SDK as our tests use: its own types are there only where the referees are installed.

export type Provider = (model: string) => object;

export function createOpenAICompatible(settings: {
  readonly name: string;
  readonly baseURL: string;
  readonly apiKey?: string;
  readonly includeUsage?: boolean;
  readonly metadataExtractor?: {
    extractMetadata(response: { readonly parsedBody: unknown }): Promise<object | undefined>;
    createStreamExtractor(): { processChunk(chunk: unknown): void; buildMetadata(): object | undefined };
  };
}): Provider;

export interface CallSettings {
  readonly model: object;
  readonly prompt?: string;
  readonly system?: string;
  readonly messages?: readonly { readonly role: string; readonly content: string }[];
  readonly providerOptions?: Readonly<Record<string, object>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxRetries?: number;
  readonly abortSignal?: AbortSignal;
  readonly onError?: (event: { readonly error: unknown }) => void;
}

export interface ResponseData {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface TokenUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
}

export function generateText(settings: CallSettings): Promise<{
  readonly text: string;
  readonly finishReason: string;
  readonly usage: TokenUsage;
  readonly response: ResponseData;
  readonly providerMetadata?: Readonly<Record<string, object>>;
}>;

export function streamText(settings: CallSettings): {
  readonly textStream: AsyncIterable<string>;
  readonly fullStream: AsyncIterable<{ readonly type: string; readonly error?: unknown }>;
  readonly finishReason: PromiseLike<string>;
  readonly usage: PromiseLike<TokenUsage>;
  readonly response: PromiseLike<ResponseData>;
  readonly providerMetadata: PromiseLike<Readonly<Record<string, object>> | undefined>;
};

export class APICallError extends Error {
  readonly statusCode?: number;
  readonly isRetryable: boolean;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly data?: unknown;
}
