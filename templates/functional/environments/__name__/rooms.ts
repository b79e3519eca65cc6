/** A room of the house, and when it is taken. Times are full hours, 8 to 18. */
// A type and not an interface: JSON, such as a tool's result, can be read as one.
export type Room = {
  readonly name: string;
  readonly seats: number;
  readonly bookings: { readonly from: number; readonly to: number; readonly by: string }[];
};

export function createRooms(): Room[] {
  return [
    { name: 'Attic', seats: 4, bookings: [{ from: 9, to: 12, by: 'Grace' }] },
    { name: 'Garden', seats: 8, bookings: [{ from: 8, to: 10, by: 'Linus' }] },
    { name: 'Hall', seats: 40, bookings: [] },
  ];
}

export function isFree(room: Room, from: number, to: number): boolean {
  return room.bookings.every((booking) => to <= booking.from || from >= booking.to);
}

/** The smallest room that has the seats and is free; undefined where there is none. */
export function smallestFree(rooms: readonly Room[], seats: number, from: number, to: number): Room | undefined {
  return rooms
    .filter((room) => room.seats >= seats && isFree(room, from, to))
    .sort((one, other) => one.seats - other.seats)[0];
}
