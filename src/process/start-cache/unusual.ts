/** Something in the code of an author that can be loaded only file by file. The message is for those who test. */
export class Unusual extends Error {}
