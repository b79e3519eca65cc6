import type { SandboxLabels } from '../engine.ts';

const PREFIX = 'dev.proctor.';
/** Names the kind of a network. */
export const NETWORK_LABEL = `${PREFIX}network`;
/** User of the sandbox, for whoever starts another one from its files. */
export const USER_LABEL = `${PREFIX}user`;
const FIELDS = ['owner', 'holder', 'run', 'session', 'environment'] as const;

export function toLabels(labels: SandboxLabels): Record<string, string> {
  return Object.fromEntries(
    FIELDS.flatMap((field) => (labels[field] === undefined ? [] : [[PREFIX + field, labels[field]]])),
  );
}

export function fromLabels(labels: Readonly<Record<string, string>>): Partial<SandboxLabels> {
  return Object.fromEntries(
    FIELDS.flatMap((field) => (labels[PREFIX + field] === undefined ? [] : [[field, labels[PREFIX + field]]])),
  );
}

/** A filter of lists that takes what belongs to one database. */
export function ownedBy(owner: string): string {
  return JSON.stringify({ label: [`${PREFIX}owner=${owner}`] });
}

/** A filter of lists that takes what belongs to one session. */
export function ofSession(session: string): string {
  return JSON.stringify({ label: [`${PREFIX}session=${session}`] });
}
