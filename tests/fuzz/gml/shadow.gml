# three places, and what lies between them
graph [
  directed 0
  node [
    id 0
    label "node at home&quot;"
    host_bandwidth_down "76200 Kibit"
    host_bandwidth_up "83592 Kibit"
  ]
  node [
    id 1
    label "M&#252;nchen"
    host_bandwidth_down "100 Mbit"
    host_bandwidth_up "20 Mbit"
  ]
  node [
    id 2
    label "third"
    graphics [ x 1.5 y 2 fill [ deep "]" ] ]
    host_bandwidth_down "1 Gbit"
    host_bandwidth_up "12.5 MB/s"
  ]
  edge [ source 0 target 0 latency "1 ms" jitter "0 ms" packet_loss 0.0 ]
  edge [ source 1 target 1 latency "2 ms" packet_loss 0.0 ]
  edge [ source 2 target 2 latency "3 ms" packet_loss 0.0 ]
  edge [ source 0 target 1 latency "118555 us" packet_loss 0.0 ]
  edge [ source 1 target 2 latency "20 ms" packet_loss 0.01 ]
  edge [ source 0 target 2 latency "500 ms" packet_loss 0.0 ]
]
