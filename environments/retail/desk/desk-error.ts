/** What a tool refuses, in the exact words that the agent gets. Thrown before anything has changed. */
export class DeskError extends Error {
  override readonly name = 'DeskError';
}
