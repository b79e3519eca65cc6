/** The trainer that every installation has: it runs inside Proctor. */
export const IMITATION_PROVIDER = 'proctor/imitation';

/** In the order in which a job goes through them; the last three are ends. */
export const TRAINING_STATES = [
  'building',
  'validating',
  'uploading',
  'queued',
  'training',
  'deploying',
  'evaluating',
  'succeeded',
  'failed',
  'cancelled',
] as const;
export type TrainingStatus = (typeof TRAINING_STATES)[number];

/** Whether a job of this status goes no further. */
export function isTrainingEnd(status: TrainingStatus): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled';
}
