/** The author's code has something that can be loaded only file by file. Only tests read the message. */
export class UnusualModuleError extends Error {}
