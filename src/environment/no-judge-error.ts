/** The harness has no model for judges, so that nobody can judge. */
export class NoJudgeError extends Error {
  override readonly name = 'NoJudgeError';
}
