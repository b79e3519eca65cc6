// LangChain with its model for OpenAI.
export { AIMessage, HumanMessage } from '@langchain/core/messages';
export { ChatOpenAI } from '@langchain/openai';
