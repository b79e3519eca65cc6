/** Rules of a trainer for its lines. */
export interface ChatRules {
  /** Form of call arguments. `text`: the JSON of an object; `object`: the object itself; `both`: either. */
  readonly arguments: 'text' | 'object' | 'both';
  /** Form of the tools in a line: a list, or the JSON of one. */
  readonly tools: 'list' | 'text';
  /** The field and value that exclude a message from training. */
  readonly untrained: { readonly field: 'weight' | 'train'; readonly value: 0 | false } | undefined;
  /** True when messages may have image parts. */
  readonly hasImages: boolean;
  /** True when an assistant message with calls may have null as content. */
  readonly hasNullContent: boolean;
  /** True when the user or tool side and the assistant have to alternate. */
  readonly takesTurns: boolean;
  /** Names of the reasoning fields that the trainer reads. It refuses or drops all others. */
  readonly reasoning: readonly string[];
}

export const OPENAI_RULES: ChatRules = {
  arguments: 'text',
  tools: 'list',
  untrained: { field: 'weight', value: 0 },
  hasImages: true,
  hasNullContent: true,
  takesTurns: false,
  reasoning: [],
};

export const TRL_RULES: ChatRules = {
  arguments: 'object',
  tools: 'list',
  untrained: undefined,
  hasImages: false,
  hasNullContent: false,
  takesTurns: false,
  reasoning: ['reasoning_content', 'reasoning', 'thinking'],
};

export const AXOLOTL_RULES: ChatRules = {
  arguments: 'both',
  tools: 'list',
  untrained: { field: 'train', value: false },
  hasImages: false,
  hasNullContent: false,
  takesTurns: false,
  reasoning: ['reasoning_content'],
};

export const LLAMA_FACTORY_RULES: ChatRules = {
  arguments: 'object',
  tools: 'text',
  untrained: undefined,
  hasImages: false,
  hasNullContent: false,
  takesTurns: true,
  reasoning: [],
};
