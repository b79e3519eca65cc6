import { defineConfig } from 'proctor';

export default defineConfig({
  agents: {
    // A program that asks its model by the variables OPENAI_BASE_URL and OPENAI_API_KEY.
    graph: { command: ['node', 'agents/langgraph.mjs', '{mcp_url}', '{prompt}'] },
    // One that brings its own model, with the key that it needs for that.
    colleague: {
      command: ['python3', 'agents/play.py', '{mcp_url}'],
      needs: 'none',
      env: { COLLEAGUE_KEY: process.env.COLLEAGUE_KEY ?? '' },
      version: '2026-01',
    },
    // One that is asked over its standard input.
    assistant: { command: ['opencode', 'acp'], protocol: 'acp' },
  },
});
