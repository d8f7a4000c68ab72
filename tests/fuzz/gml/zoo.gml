Creator "Topology Zoo Toolset"
Version 1.0
graph [
  Network "Sample"
  directed 0
  edge [ source 7 target 3 LinkSpeed "10" LinkSpeedUnits "M" LinkLabel "10 Mbps" LinkSpeedRaw 10000000.0 ]
  edge [ source 3 target 7 LinkSpeed "2.5" LinkSpeedUnits "M" ]
  node [ id 3 label "Soma" Country "Gambia" Longitude -15.53333 Internal 1 Latitude 13.43333 ]
  node [ id 7 label "Farafenni" Longitude -15.6 Internal 1 Latitude 13.56667 ]
]
