import { Changes } from '../../environment/changes.ts';
import type { Audience } from '../../environment/definition.ts';

/** Something of a session that its client may have read is different now. */
export type SessionChange =
  /** A list has another content. */
  | {
      readonly kind: 'tools' | 'resources' | 'prompts';
      readonly audience: Audience;
      /** The harness's own list is as it was: the agent's alone depends on the scenario that is active. */
      readonly isForAgentsAlone?: true;
    }
  /** A resource has another content. */
  | { readonly kind: 'resource'; readonly uri: string; readonly audience: Audience };

/**
 * Changes of an open session, for the code that notifies its clients. The `audience` of a change may learn of it: a change
 * for the harness alone must reach no agent, because it would reveal that something is hidden.
 */
export class SessionChanges extends Changes<SessionChange> {}

/** True for what this audience may learn of and sees differently now. */
export function isNewsFor(change: SessionChange, audience: Audience): boolean {
  if (audience === 'agent') return change.audience === 'agent';
  return change.kind === 'resource' || change.isForAgentsAlone !== true;
}
