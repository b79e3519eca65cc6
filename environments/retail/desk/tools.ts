import { deliveredOrderTools } from './delivered-order-tools.ts';
import type { DeskTool } from './desk-tool.ts';
import { otherTools } from './other-tools.ts';
import { pendingOrderTools } from './pending-order-tools.ts';
import { readingTools } from './reading-tools.ts';

/** All tools of the desk. */
export const deskTools: readonly DeskTool[] = [
  ...readingTools,
  ...pendingOrderTools,
  ...deliveredOrderTools,
  ...otherTools,
];
