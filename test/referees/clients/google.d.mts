// As much of Google's client as our tests use: its own types are there only where the referees are installed.

export interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: { readonly id?: string; readonly name?: string; readonly args?: unknown };
}

export interface Answer {
  readonly text: string | undefined;
  readonly functionCalls:
    | readonly { readonly id?: string; readonly name?: string; readonly args?: unknown }[]
    | undefined;
  readonly candidates?: readonly { readonly content?: { readonly parts?: Part[] }; readonly finishReason?: string }[];
  readonly usageMetadata?: Readonly<Record<string, unknown>>;
  readonly modelVersion?: string;
}

export interface Params {
  readonly model: string;
  readonly contents: unknown;
  readonly config?: object;
}

export class GoogleGenAI {
  constructor(options: {
    readonly apiKey: string;
    readonly apiVersion?: string;
    readonly httpOptions?: { readonly baseUrl?: string };
  });
  readonly models: {
    generateContent(params: Params): Promise<Answer>;
    generateContentStream(params: Params): Promise<AsyncIterable<Answer>>;
    countTokens(params: Params): Promise<{ readonly totalTokens?: number }>;
    list(): Promise<{ readonly page: readonly { readonly name?: string }[] }>;
  };
}
