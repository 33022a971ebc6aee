import { hash } from 'node:crypto'

/** The form of a client secret: a fixed prefix, 256 random bits and a checksum. Scanners can find one. */
export const CLIENT_SECRET_PATTERN = /ias_[0-9A-Za-z]{49}/
export const SESSION_TOKEN_PATTERN = /ses_[0-9A-Za-z]{43}/
export const LINK_TOKEN_PATTERN = /(?:inv|pwr)_[0-9A-Za-z]{43}/

/** Exactly the id of a client, a service, a company or a user. */
export const CLIENT_ID_PATTERN = /^cli_[A-Za-z0-9]{22}$/
export const SERVICE_ID_PATTERN = /^svc_[A-Za-z0-9]{22}$/
export const VENDOR_ID_PATTERN = /^ven_[A-Za-z0-9]{1,60}$/
export const USER_ID_PATTERN = /^usr_[A-Za-z0-9]{1,60}$/

/** SHA-256 of a random secret, stored in its place. Slow hashes are for passwords, which can be guessed. */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer')
