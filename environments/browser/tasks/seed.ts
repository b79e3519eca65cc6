import { z } from 'zod';

/** Which of the shops: another seed has other prices, ratings, weights and stock. */
export const Seed = z.int().min(0).max(999_999).default(1).describe('Sets prices, ratings and stock of the shop.');
