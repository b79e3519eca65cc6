import { Changes } from '../../authoring/changes.ts';
import type { Audience } from '../../authoring/definition.ts';

/** A change in a session of something that its client may have read. */
export type SessionChange =
  /** The content of a list has changed. */
  | {
      readonly kind: 'tools' | 'resources' | 'prompts';
      readonly audience: Audience;
      /** True if only the agent's list has changed, because it depends on the active scenario. */
      readonly isForAgentsAlone?: true;
    }
  /** The content of a resource has changed. */
  | { readonly kind: 'resource'; readonly uri: string; readonly audience: Audience };

/**
 * Changes of an open session, for the code that notifies its clients. Only the `audience` of a change may learn of it.
 * A change for the harness must not reach an agent, because it would reveal that something is hidden.
 */
export class SessionChanges extends Changes<SessionChange> {}

/** True if this audience may learn of the change, and sees a difference. */
export function isNewsFor(change: SessionChange, audience: Audience): boolean {
  if (audience === 'agent') return change.audience === 'agent';
  return change.kind === 'resource' || change.isForAgentsAlone !== true;
}
