// Anthropic's own client.
export { default as Anthropic } from '@anthropic-ai/sdk';
