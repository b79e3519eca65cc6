// The AI SDK with its provider for OpenAI-compatible addresses.
export { createOpenAICompatible } from '@ai-sdk/openai-compatible';
export { APICallError, generateText, streamText } from 'ai';
