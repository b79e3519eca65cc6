import { openBubblewrap } from '../../../src/environment/sandbox/bubblewrap/engine.ts';
import { describeEngine } from './engine-suite.ts';
import { underTest } from './local-engines.ts';

describeEngine('bubblewrap', async () => await underTest(openBubblewrap()));
