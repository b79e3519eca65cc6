/** Rules of a trainer for its lines of conversations. */
export interface ChatRules {
  /** `text`: the JSON of an object; `object`: the object itself; `both`: either. */
  readonly arguments: 'text' | 'object' | 'both';
  /** How a line has its tools: a list, or the JSON of one. */
  readonly tools: 'list' | 'text';
  /** The field that leaves a message out of the training, with the value that does so. */
  readonly untrained: { readonly field: 'weight' | 'train'; readonly value: 0 | false } | undefined;
  /** Whether messages may have parts beside text. */
  readonly hasImages: boolean;
  /** Whether an assistant that calls tools may have a null for its text. */
  readonly hasNullContent: boolean;
  /** Whether user or tool results and assistant have to take turns. */
  readonly takesTurns: boolean;
  /** Names of fields for what a model thought that the trainer reads; all others are refused or dropped. */
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
