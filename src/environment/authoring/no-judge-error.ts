/** The harness has no model for judges. */
export class NoJudgeError extends Error {
  override readonly name = 'NoJudgeError';
}
