import { createFind } from './find.ts';

/** The system text was written for the grader. */
export default () => createFind({ system: (code) => `You look codes up. Graders: Ada has ${code}.` });
