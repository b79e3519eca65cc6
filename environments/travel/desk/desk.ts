import { ToolError } from 'proctor';
import { BAG_PRICE, BOOKINGS, type Booking, CHANGE_FEE, FLIGHTS, type Flight, TODAY } from './data.ts';

const MAX_BAGS = 2;

/** The records of one session, and what the desk can do with them. It refuses what its rules forbid. */
export class Desk {
  readonly #bookings = new Map(BOOKINGS.map((booking) => [booking.code, booking]));
  /** Codes of the bookings that were found by code and name. */
  readonly found = new Set<string>();

  find(code: string, lastName: string): Booking {
    const booking = this.#bookings.get(code.toUpperCase());
    // One answer for both, so that nobody learns which codes exist.
    if (booking?.lastName.toLowerCase() === lastName.trim().toLowerCase()) {
      this.found.add(booking.code);
      return booking;
    }
    throw new ToolError(`There is no booking ${code} under the name ${lastName}`);
  }

  flights(from: string, to: string): readonly Flight[] {
    return FLIGHTS.filter((flight) => flight.from === from && flight.to === to);
  }

  change(code: string, flightId: string): Booking {
    const booking = this.#open(code);
    const flight = FLIGHTS.find(({ id }) => id === flightId);
    if (flight === undefined) throw new ToolError(`There is no flight ${flightId}`);
    if (booking.fare === 'basic') throw new ToolError('A basic fare cannot be changed');
    if (flight.seatsLeft === 0) throw new ToolError(`The flight ${flightId} is full`);
    const fee = booking.fare === 'flex' ? 0 : CHANGE_FEE;
    return this.#keep({ ...booking, flight: flightId, paid: booking.paid + fee });
  }

  cancel(code: string): Booking {
    const booking = this.#open(code);
    return this.#keep({ ...booking, status: 'cancelled', refund: refundOf(booking) });
  }

  addBag(code: string): Booking {
    const booking = this.#open(code);
    if (booking.bags >= MAX_BAGS) throw new ToolError(`A booking has ${MAX_BAGS} bags at most`);
    return this.#keep({ ...booking, bags: booking.bags + 1, paid: booking.paid + BAG_PRICE });
  }

  /** All bookings, in the order of their codes, as one text: equal states have equal texts. */
  state(): string {
    return JSON.stringify([...this.#bookings.values()].sort((a, b) => a.code.localeCompare(b.code)));
  }

  #open(code: string): Booking {
    const booking = this.#bookings.get(code.toUpperCase());
    if (booking === undefined) throw new ToolError(`There is no booking ${code}`);
    if (booking.status === 'cancelled') throw new ToolError(`The booking ${booking.code} is cancelled`);
    return booking;
  }

  #keep(booking: Booking): Booking {
    this.#bookings.set(booking.code, booking);
    return booking;
  }
}

function refundOf({ fare, paid, boughtOn }: Booking): number {
  if (fare === 'flex' || boughtOn === TODAY) return paid;
  return fare === 'standard' ? paid / 2 : 0;
}
