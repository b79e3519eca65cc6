/** A parcel on its way. */
export interface Parcel {
  readonly number: string;
  readonly to: string;
  /** A parcel that is out cannot be sent elsewhere. */
  readonly state: 'stored' | 'out';
}

export function createParcels(): Parcel[] {
  return [
    { number: 'P204', to: 'Mill Lane 3', state: 'stored' },
    { number: 'P310', to: 'Hill Road 12', state: 'out' },
    { number: 'P411', to: 'Quay 9', state: 'stored' },
  ];
}

/** Each with the person who asks, and the end that is right. */
export const CASES = {
  'new-address': {
    user: 'You wait for parcel P204. You have moved, and want it to be sent to Quay 7. You tell the number of the parcel when you are asked for it. You are content once it is on its way to Quay 7.',
    script: ['I have moved. Can my parcel come to Quay 7?', 'It is P204.', 'Thank you.'],
    number: 'P204',
    to: 'Quay 7',
  },
  'too-late': {
    user: 'You wait for parcel P310, and want it to be sent to your office, Dock 2. You insist once, then give in.',
    script: ['Please send P310 to my office, Dock 2.', 'Can you really do nothing?', 'Then leave it.'],
    number: 'P310',
    to: undefined,
  },
} as const;

export type CaseName = keyof typeof CASES;
