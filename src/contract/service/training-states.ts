/** The trainer that every installation has: it runs inside Proctor. */
export const IMITATION_PROVIDER = 'proctor/imitation';

/** States of a job, in order. The last three are final. */
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
