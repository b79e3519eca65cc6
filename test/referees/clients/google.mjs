// Google's own client for Gemini.
export { GoogleGenAI } from '@google/genai';
