/** A flight of one day. Times are local. */
export interface Flight {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly departs: string;
  readonly seatsLeft: number;
  readonly price: number;
}

export interface Booking {
  readonly code: string;
  readonly lastName: string;
  readonly flight: string;
  /** `basic` can be neither changed nor refunded after the day of the purchase. */
  readonly fare: 'basic' | 'standard' | 'flex';
  readonly paid: number;
  readonly bags: number;
  readonly boughtOn: string;
  readonly status: 'booked' | 'cancelled';
  /** Paid back, in euros. */
  readonly refund: number;
}

/** The desk's calendar stands still. */
export const TODAY = '2031-05-12';
export const CHANGE_FEE = 40;
export const BAG_PRICE = 30;

export const FLIGHTS: readonly Flight[] = [
  { id: 'NW101', from: 'Lund', to: 'Porto', departs: '2031-05-20 07:40', seatsLeft: 3, price: 120 },
  { id: 'NW103', from: 'Lund', to: 'Porto', departs: '2031-05-20 16:10', seatsLeft: 1, price: 150 },
  { id: 'NW105', from: 'Lund', to: 'Porto', departs: '2031-05-21 07:40', seatsLeft: 0, price: 110 },
  { id: 'NW107', from: 'Lund', to: 'Porto', departs: '2031-05-22 12:00', seatsLeft: 9, price: 95 },
  { id: 'NW201', from: 'Porto', to: 'Lund', departs: '2031-05-27 09:15', seatsLeft: 5, price: 130 },
  { id: 'NW203', from: 'Porto', to: 'Lund', departs: '2031-05-28 18:30', seatsLeft: 2, price: 140 },
];

export const BOOKINGS: readonly Booking[] = [
  booking('QK4TZ1', 'Aster', 'NW101', { fare: 'standard', paid: 120, boughtOn: '2031-04-02' }),
  booking('QK7MB2', 'Brandt', 'NW101', { fare: 'basic', paid: 80, boughtOn: '2031-04-20' }),
  booking('QL2WX3', 'Castell', 'NW203', { fare: 'flex', paid: 210, boughtOn: '2031-03-15', bags: 1 }),
  booking('QM8RS4', 'Dahl', 'NW107', { fare: 'basic', paid: 75, boughtOn: TODAY }),
  booking('QN5PV5', 'Eriksen', 'NW201', { fare: 'standard', paid: 130, boughtOn: '2031-05-01', bags: 2 }),
];

type Rest = Pick<Booking, 'fare' | 'paid' | 'boughtOn'> & Partial<Pick<Booking, 'bags'>>;

function booking(code: string, lastName: string, flight: string, rest: Rest): Booking {
  return { code, lastName, flight, bags: 0, status: 'booked', refund: 0, ...rest };
}
