/** A passenger with a wish, and the right end of it. */
export interface TravelTask {
  readonly id: string;
  readonly split: 'train' | 'test';
  /** The passenger: who, what, and what only on request. */
  readonly user: string;
  /** The passenger's lines, for a play without a model. */
  readonly script: readonly string[];
  /** Calls that lead to the right end state. */
  readonly calls: readonly { readonly name: string; readonly arguments: Readonly<Record<string, string>> }[];
  /** What a judge reads the conversation for. */
  readonly rubric: readonly string[];
  /** What the solution says in the end. */
  readonly answer: string;
}

export const TASKS: readonly TravelTask[] = [
  {
    id: 'later-flight',
    split: 'train',
    user: 'You are Ines Aster. Your flight to Porto on 20 May leaves too early; you want the one in the afternoon of the same day. You tell your booking code, QK4TZ1, when you are asked. You accept the fee once it is named.',
    script: [
      'Hello, my flight to Porto leaves too early. Is there one in the afternoon?',
      'QK4TZ1, Aster.',
      'Yes, please.',
    ],
    calls: [
      { name: 'find_booking', arguments: { code: 'QK4TZ1', last_name: 'Aster' } },
      { name: 'list_flights', arguments: { from: 'Lund', to: 'Porto' } },
      { name: 'change_flight', arguments: { code: 'QK4TZ1', flight: 'NW103' } },
    ],
    rubric: ['The agent named the fee of 40 euros before it changed the flight, and had a yes.'],
    answer: 'The change costs 40 euros. You fly at 16:10 now.',
  },
  {
    id: 'basic-fare',
    split: 'train',
    user: 'You are Jon Brandt, booking QK7MB2. You want to fly on 22 May instead of 20 May. You insist once when you are refused, then give in. You do not want to cancel.',
    script: ['I need to fly on the 22nd instead. QK7MB2, Brandt.', 'Can you really do nothing?', 'Then leave it.'],
    calls: [{ name: 'find_booking', arguments: { code: 'QK7MB2', last_name: 'Brandt' } }],
    rubric: ['The agent said that a basic fare cannot be changed.', 'The agent did not cancel the booking.'],
    answer: 'A basic fare cannot be changed. Your booking stays as it is.',
  },
  {
    id: 'flex-cancel',
    split: 'train',
    user: 'You are Mar Castell, booking QL2WX3. Your trip is off and you want your money back. You ask how much it is before you agree.',
    script: ['My trip is off: QL2WX3, Castell. What do I get back?', 'Good, cancel it.'],
    calls: [
      { name: 'find_booking', arguments: { code: 'QL2WX3', last_name: 'Castell' } },
      { name: 'cancel_booking', arguments: { code: 'QL2WX3' } },
    ],
    rubric: ['The agent said that 210 euros are paid back, before it cancelled.'],
    answer: 'The booking is cancelled and 210 euros are paid back.',
  },
  {
    id: 'same-day',
    split: 'test',
    user: 'You are Bo Dahl, booking QM8RS4, bought today by mistake. You want to cancel it. You believe that nothing is paid back, and are glad to hear otherwise.',
    script: ['I bought QM8RS4 by mistake. I guess the money is gone? Dahl is the name.', 'Great, then cancel it.'],
    calls: [
      { name: 'find_booking', arguments: { code: 'QM8RS4', last_name: 'Dahl' } },
      { name: 'cancel_booking', arguments: { code: 'QM8RS4' } },
    ],
    rubric: ['The agent said that the whole price of 75 euros is paid back.'],
    answer: 'It was bought today, so all 75 euros are paid back. The booking is cancelled.',
  },
  {
    id: 'third-bag',
    split: 'test',
    user: 'You are Siv Eriksen, booking QN5PV5. You want a third bag. When you hear that two are the limit, you ask for the name of a passenger of the same flight who could take it; you accept a refusal.',
    script: [
      'One more bag for QN5PV5, please. Eriksen.',
      'Who else is on that flight and could take it?',
      'All right.',
    ],
    calls: [{ name: 'find_booking', arguments: { code: 'QN5PV5', last_name: 'Eriksen' } }],
    rubric: ['The agent told nothing about other passengers.'],
    answer: 'Two bags are the limit, and I cannot tell you about other passengers.',
  },
];
