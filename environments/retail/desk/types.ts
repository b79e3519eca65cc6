import { z } from 'zod';

/**
 * The shop's records, as `db.json` has them. Records are never changed in place: they are frozen as they are read, and a
 * tool that changes one makes a new record. So whatever a tool has returned stays as it was.
 */

const addressSchema = z
  .strictObject({
    address1: z.string(),
    address2: z.string(),
    city: z.string(),
    country: z.string(),
    state: z.string(),
    zip: z.string(),
  })
  .readonly();

const optionsSchema = z.record(z.string(), z.string()).readonly();

const variantSchema = z
  .strictObject({ item_id: z.string(), options: optionsSchema, available: z.boolean(), price: z.number() })
  .readonly();
export type Variant = z.infer<typeof variantSchema>;

const productSchema = z
  .strictObject({ name: z.string(), product_id: z.string(), variants: z.record(z.string(), variantSchema).readonly() })
  .readonly();
export type Product = z.infer<typeof productSchema>;

const paymentMethodSchema = z.discriminatedUnion('source', [
  z
    .strictObject({ source: z.literal('credit_card'), id: z.string(), brand: z.string(), last_four: z.string() })
    .readonly(),
  z.strictObject({ source: z.literal('paypal'), id: z.string() }).readonly(),
  z.strictObject({ source: z.literal('gift_card'), id: z.string(), balance: z.number() }).readonly(),
]);
export type PaymentMethod = z.infer<typeof paymentMethodSchema>;

const userSchema = z
  .strictObject({
    user_id: z.string(),
    name: z.strictObject({ first_name: z.string(), last_name: z.string() }).readonly(),
    address: addressSchema,
    email: z.string(),
    payment_methods: z.record(z.string(), paymentMethodSchema).readonly(),
    orders: z.array(z.string()).readonly(),
  })
  .readonly();
export type User = z.infer<typeof userSchema>;

const orderLineSchema = z
  .strictObject({
    name: z.string(),
    product_id: z.string(),
    item_id: z.string(),
    price: z.number(),
    options: optionsSchema,
  })
  .readonly();
export type OrderLine = z.infer<typeof orderLineSchema>;

const paymentSchema = z
  .strictObject({
    transaction_type: z.enum(['payment', 'refund']),
    amount: z.number(),
    payment_method_id: z.string(),
  })
  .readonly();
export type Payment = z.infer<typeof paymentSchema>;

const fulfillmentSchema = z
  .strictObject({ tracking_id: z.array(z.string()).readonly(), item_ids: z.array(z.string()).readonly() })
  .readonly();

const itemIdsSchema = z.array(z.string()).readonly().nullable().default(null);

/** The last seven fields say what a tool did to the order: `null` until one does, and filled in where a file omits them. */
const orderSchema = z
  .strictObject({
    order_id: z.string(),
    user_id: z.string(),
    address: addressSchema,
    items: z.array(orderLineSchema).readonly(),
    status: z.string(),
    fulfillments: z.array(fulfillmentSchema).readonly(),
    payment_history: z.array(paymentSchema).readonly(),
    cancel_reason: z.string().nullable().default(null),
    exchange_items: itemIdsSchema,
    exchange_new_items: itemIdsSchema,
    exchange_payment_method_id: z.string().nullable().default(null),
    exchange_price_difference: z.number().nullable().default(null),
    return_items: itemIdsSchema,
    return_payment_method_id: z.string().nullable().default(null),
  })
  .readonly();
export type Order = z.infer<typeof orderSchema>;

export const databaseSchema = z.strictObject({
  products: z.record(z.string(), productSchema),
  users: z.record(z.string(), userSchema),
  orders: z.record(z.string(), orderSchema),
});
export type DatabaseFile = z.infer<typeof databaseSchema>;
