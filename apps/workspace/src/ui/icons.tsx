import type { ReactNode } from 'react'

/* Drawn on a 20 by 20 grid. Words are always beside them, so they are hidden from assistive technology. */
function icon(drawing: ReactNode) {
  return function Icon() {
    return (
      <svg
        className="flex-none fill-none stroke-current stroke-[1.6] [stroke-linecap:round] [stroke-linejoin:round]"
        viewBox="0 0 20 20"
        width="20"
        height="20"
        aria-hidden="true"
        focusable="false"
      >
        {drawing}
      </svg>
    )
  }
}

export const KeyIcon = icon(
  <path d="M6.500 13.500a3.250 3.250 0 1 1 3.200-3.800H17.500M13 9.700v3M16 9.700v4.300" />,
)
export const WebhookIcon = icon(<path d="M4 15.500h7.500M3 10h9M4 4.500h7.500M12 4.500 17 10l-5 5.500" />)
export const ChartIcon = icon(<path d="M3 16.500h14M5.500 13.500v-3M10 13.500V4M14.500 13.500V7.500" />)
export const ActivityIcon = icon(<path d="M5 4v12M5 5.500h.01M9 5.500h7.500M9 10h7.500M9 14.500h5" />)
export const PeopleIcon = icon(
  <path d="M7.500 9.500a2.800 2.800 0 1 0 0-5.600 2.800 2.800 0 0 0 0 5.600zM2.500 16.500c0-2.800 2-4.500 5-4.500s5 1.700 5 4.500M12.800 4.300a2.600 2.600 0 0 1 0 4.900M14.800 12.400c1.700.6 2.700 2 2.700 4.100" />,
)
export const CopyIcon = icon(<path d="M7.500 7.500h8.500v8.500H7.500zM12.500 7.500V4H4v8.500h3.500" />)
export const CheckIcon = icon(<path d="m4 10.500 4 4 8-9" />)
export const AlertIcon = icon(<path d="M10 3.500 17.500 16.500h-15zM10 8.500v3.500M10 14.200v.1" />)
export const InfoIcon = icon(<path d="M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 9v4.500M10 6.300v.1" />)
export const ChevronIcon = icon(<path d="m6.500 8 3.500 4 3.500-4" />)
export const ForwardIcon = icon(<path d="m8 5.500 4.500 4.500L8 14.500" />)
export const BackIcon = icon(<path d="M12 5.500 7.500 10l4.500 4.500" />)
export const PlusIcon = icon(<path d="M10 4v12M4 10h12" />)
export const CloseIcon = icon(<path d="m5 5 10 10M15 5 5 15" />)
export const MoreIcon = icon(<path d="M5 10h.01M10 10h.01M15 10h.01" strokeWidth="2.6" />)
export const RotateIcon = icon(
  <path d="M15.500 7A6.300 6.300 0 0 0 4 8.500M4 4.500v4h4M4.500 13A6.300 6.300 0 0 0 16 11.500M16 15.500v-4h-4" />,
)
export const DownloadIcon = icon(<path d="M10 3.500v9M6.500 9.500l3.500 3.500 3.500-3.500M4 16.500h12" />)
export const SendIcon = icon(<path d="M3.500 10h12M11 5.500l4.500 4.500-4.500 4.500" />)
export const LockIcon = icon(<path d="M5 9h10v7.500H5zM7 9V6.500a3 3 0 0 1 6 0V9" />)
export const OfflineIcon = icon(
  <path d="M3 8a10 10 0 0 1 14 0M6 11.200a5.800 5.800 0 0 1 8 0M10 15h.01M4 3.500l12.500 13" />,
)
export const SunIcon = icon(
  <path d="M10 6.800a3.200 3.200 0 1 0 0 6.400 3.200 3.200 0 0 0 0-6.400zM10 2.500v1.500M10 16v1.500M2.500 10H4M16 10h1.500M4.700 4.700l1 1M14.300 14.300l1 1M15.300 4.700l-1 1M5.700 14.300l-1 1" />,
)
export const MoonIcon = icon(<path d="M16 11.800A6.500 6.500 0 1 1 8.200 4a5.200 5.200 0 0 0 7.800 7.800z" />)
export const ScreenIcon = icon(<path d="M3 4.500h14v9H3zM7.500 16.500h5" />)
export const BookIcon = icon(
  <path d="M10 5.500v11M10 5.500c-1.800-1.300-4-1.700-7-1.700v10.900c3 0 5.200.4 7 1.800 1.800-1.400 4-1.800 7-1.800V3.800c-3 0-5.200.4-7 1.700z" />,
)
export const SearchIcon = icon(
  <path d="M8.800 3.500a5.300 5.300 0 1 0 0 10.600 5.300 5.300 0 0 0 0-10.600zM12.700 12.700l4 4" />,
)
